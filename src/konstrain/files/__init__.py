"""Tables, links and labels in files: read with a clear word for what is wrong, written whole or not at all."""

from konstrain.files.labels import read_labels_file, write_labels_file
from konstrain.files.links import FileLinks, read_links_file, write_links_file
from konstrain.files.outputs import write_whole
from konstrain.files.table_files import RowNames, Table, read_table

__all__ = [
    "FileLinks",
    "RowNames",
    "Table",
    "read_labels_file",
    "read_links_file",
    "read_table",
    "write_labels_file",
    "write_links_file",
    "write_whole",
]
