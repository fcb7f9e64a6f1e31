"""One module per section of the report; each offers functions that return a title and rows."""
