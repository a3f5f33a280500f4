import { Refusal } from "./ModelRefusal.ts"
import {
  isFilter,
  size,
  systemFields,
  withoutSystem,
  type Fields,
  type ModelLimits,
  type ModelWrite
} from "./ModelValues.ts"

/** What is longer than a row fits none, whatever is stored. */
const checkLength = (fields: Fields, limits: ModelLimits): void => {
  if (size(withoutSystem(fields)) > limits.row) throw new Refusal("row_too_large")
}

/** Refuses a write for what it holds, whatever is stored. */
export const checkWrite = (write: ModelWrite, limits: ModelLimits): void => {
  switch (write.action) {
    case "add":
      if (systemFields.some((name) => Object.hasOwn(write.row, name))) throw new Refusal("reserved_field")
      if (size(write.row) > limits.row) throw new Refusal("row_too_large")
      return
    case "upsert":
      checkLength(write.row, limits)
      for (const name of [write.key].flat()) {
        const value = Object.hasOwn(write.row, name) ? write.row[name] : null
        if (systemFields.includes(name) || value === null || typeof value === "object") {
          throw new Refusal("invalid_request")
        }
      }
      return
    case "update_row":
      checkLength(write.patch, limits)
      return
    case "save":
      checkLength(write.fields, limits)
      return
    case "update_where":
    case "delete":
      if (!isFilter(write.filter)) throw new Refusal("invalid_request")
      if (Object.keys(write.filter).length === 0) throw new Refusal("filter_required")
      if (write.action === "update_where") checkLength(write.patch, limits)
  }
}
