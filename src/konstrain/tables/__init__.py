"""Tables as people have them: numbers, text and dates made into rows to cluster, and described in their own units."""

from konstrain.tables.columns import Columns
from konstrain.tables.plan import ColumnPlan, TablePlan, plan_columns
from konstrain.tables.prepare import Preparation, prepare

__all__ = ["ColumnPlan", "Columns", "Preparation", "TablePlan", "plan_columns", "prepare"]
