import { editingCells } from "./grid/CellEditing.ts"
import { choosingColumns, selectingRows } from "./grid/Columns.ts"

for (const grid of document.querySelectorAll<HTMLElement>("[data-grid]")) {
  choosingColumns(grid)
  if (!(grid instanceof HTMLFormElement)) continue
  selectingRows(grid)
  editingCells(grid)
}
