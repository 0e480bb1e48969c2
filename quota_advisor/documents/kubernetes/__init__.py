"""Kubernetes objects as what rules judge.

- ``objects`` finds out what a document holds; ``pods`` reads a pod template, ``kubelets`` the
  settings of a kubelet (``kubelet_texts``: in a text).
- ``custom`` finds pods in objects of other kinds, ``workflows`` those that workflow engines make,
  ``requirements`` containers of which only the ``resources`` are written; ``helm_values`` makes
  values of a chart look like such an object.
- ``keys`` names the keys that are read at all.
- ``quantity`` and ``cpu_manager`` know what values mean: amounts and options.
"""
