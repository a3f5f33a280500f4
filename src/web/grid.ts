import { editingCells } from "./grid/Cells.ts"
import { choosingColumns } from "./grid/Columns.ts"
import { selectingRows } from "./grid/Selection.ts"

for (const grid of document.querySelectorAll<HTMLElement>("[data-grid]")) {
  choosingColumns(grid)
  if (!(grid instanceof HTMLFormElement)) continue
  selectingRows(grid)
  editingCells(grid)
}
