"""Read a Kubernetes cluster: its API server, its kubelets' settings. Nothing is ever written."""
