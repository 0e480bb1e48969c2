"""Reports for what runs checks: annotations, test results, code quality."""
