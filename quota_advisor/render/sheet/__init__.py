"""A report as one row a container, workload or finding, for spreadsheets and data frames."""
