"""Files that the tests of lint share."""

from __future__ import annotations

BAD_UNIT = "[Service]\nExecStart=/bin/true\nCPUQuota=050%\n"
"""One error: misread-cpu-quota at 3:10."""

GOOD_UNIT = "[Service]\nExecStart=/bin/true\nCPUQuota=50%\n"


def deployment(name: str = "api", *, request: str = "500m", limit: str = "250m") -> str:
    """Return a Deployment; by default with one error, request-exceeds-limit at 14:18."""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    spec:
      containers:
      - name: main
        image: registry.example.com/{name}:1
        resources:
          requests:
            cpu: {request}
          limits:
            cpu: {limit}
"""
