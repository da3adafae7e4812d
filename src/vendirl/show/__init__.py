"""What people see: figures, the paper's figures, films, and the report."""
