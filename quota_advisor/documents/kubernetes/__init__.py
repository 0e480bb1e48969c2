"""Kubernetes objects as what rules judge: pods, kubelet settings, namespaces."""
