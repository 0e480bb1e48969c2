"""The ``k8s`` verb: from the API server of a cluster, or its snapshot, to a report."""
