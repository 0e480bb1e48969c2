#!/usr/bin/env bash
# Ask a real systemd for the merged quota of every unit below this folder.
# Needs systemd >= 252 installed (it need not be PID 1) and must run as a non-root user:
#   runuser -u nobody -- env XDG_RUNTIME_DIR=$(mktemp -d) ./run.sh
# Prints: unit <TAB> quota=… <TAB> period=… (one line a unit), parse warnings on standard error.
# With --dump: everything that systemd says of every unit.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export SYSTEMD_UNIT_PATH="$here/ectl:$here/rctl:$here/etc:$here/local:$here/lib:/lib/systemd/system"
export SYSTEMD_LOG_LEVEL=notice
dump() {
  timeout 20 /lib/systemd/systemd --test --system --unit=qall.target --log-target=console
}
if [ "${1-}" = --dump ]; then
  dump
  exit
fi
dump |
awk '/^\t*-> Unit /{u=$3; sub(/:$/,"",u)} /CPUQuotaPerSecSec:/{q=$2; for(i=3;i<=NF;i++)q=q" "$i} /CPUQuotaPeriodSec:/{p=$2; for(i=3;i<=NF;i++)p=p" "$i; if(u~/^t[0-9]/)print u"\tquota="q"\tperiod="p}' | LC_ALL=C sort -u
