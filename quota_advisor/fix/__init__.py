"""Change files, only where the outcome is certain and only in one step.

``unit_plan``, ``yaml_plan`` and ``compose_plan`` decide what is certain; ``unit_fixes`` and
``yaml_fixes`` turn that into the fixes that findings carry; ``edits`` makes fixes in a text, and
``rewrite`` puts a text in the place of a file.
"""
