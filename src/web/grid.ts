import { editingCells } from "./grid/Cells.ts"
import { choosingColumns } from "./grid/Columns.ts"
import { selectingRows } from "./grid/Selection.ts"

for (const form of document.querySelectorAll<HTMLFormElement>("form[data-grid]")) {
  selectingRows(form)
  choosingColumns(form)
  editingCells(form)
}
