"""Rules about pods and about the kubelet."""
