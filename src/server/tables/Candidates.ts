import type { SqlClient, Statement } from "effect/sql"
import { isCut, isLong, shortKey } from "../../domain/keys/SortKey.ts"
import type { Filter } from "../../domain/Query.ts"
import type { Condition, KeyCondition, TimeCondition } from "../../domain/query/Conditions.ts"
import { systemFields } from "../../domain/Row.ts"
import { texts, time } from "../sql/SqlParams.ts"

/** What rows that meet a condition have in common, in SQL. */
interface Candidates {
  readonly conditions: ReadonlyArray<Statement.Fragment>
  /** Whether only they have it. */
  readonly isExact: boolean
}

/** Keys begin with their type; those of the next one are behind all of this. */
const nextType = (key: string): string => String(Number(key[0]) + 1)

const strings = "2"
const arraysAndObjects = "5"

/** Finds rows by the sort keys that are stored with them, as far as those tell. */
export const makeCandidates = (sql: SqlClient.SqlClient) => {
  const byTime = (column: "created_at" | "updated_at", { instant, operator }: TimeCondition): Statement.Fragment => {
    // Times are stored in whole milliseconds, and an instant may lie between two.
    const [least, most] = [time(Math.ceil(instant)), time(Math.floor(instant))]
    switch (operator) {
      case "after":
        return sql`${sql(column)} > ${most}`
      case "from":
        return sql`${sql(column)} >= ${least}`
      case "before":
        return sql`${sql(column)} < ${least}`
      case "until":
        return sql`${sql(column)} <= ${most}`
    }
  }

  /** Short keys are in the order of full ones, and only a cut one may be that of several. */
  const byKey = (name: string, condition: KeyCondition): Candidates => {
    const key = sql`(facets ->> ${name}::text) COLLATE "C"`
    switch (condition.operator) {
      case "exists": {
        const test = sql.literal(condition.exists ? "IS NOT NULL" : "IS NULL")
        return { conditions: [sql`facets ->> ${name}::text ${test}`], isExact: true }
      }
      case "in": {
        const keys = [...condition.keys].map(shortKey)
        return { conditions: [sql`${key} = ANY(${texts(keys)}::text[])`], isExact: !keys.some(isCut) }
      }
      case "eq":
        return { conditions: [sql`${key} = ${shortKey(condition.key)}`], isExact: !isLong(condition.key) }
      case "ne":
        return isLong(condition.key)
          ? { conditions: [], isExact: false }
          : { conditions: [sql`facets ->> ${name}::text IS DISTINCT FROM ${condition.key}`], isExact: true }
      default: {
        const isExact = !isLong(condition.key)
        const order = { gt: ">", gte: ">=", lt: "<", lte: "<=" }[condition.operator]
        const compared = sql`${key} ${sql.literal(isExact ? order : `${order[0]}=`)} ${shortKey(condition.key)}`
        const ofType = order[0] === ">" ? sql`${key} < ${nextType(condition.key)}` : sql`${key} >= ${condition.key[0]!}`
        return { conditions: [compared, ofType], isExact }
      }
    }
  }

  const ofType = (name: string, type: string): Candidates => ({
    conditions: [
      sql`(facets ->> ${name}::text) COLLATE "C" >= ${type}`,
      sql`(facets ->> ${name}::text) COLLATE "C" < ${nextType(type)}`
    ],
    isExact: false
  })

  const ofSystemField = (condition: Condition): Candidates => {
    if (condition.name !== "id" || condition.operator !== "in") return { conditions: [], isExact: false }
    // The key of a string is `2` and its characters.
    const ids = [...condition.keys].flatMap((key) => (key[0] === strings ? [key.slice(1)] : []))
    return { conditions: [sql`id = ANY(${texts(ids)}::text[])`], isExact: true }
  }

  const candidatesOf = (condition: Condition): Candidates => {
    switch (condition.operator) {
      case "after":
      case "from":
      case "before":
      case "until":
        return {
          conditions: [byTime(condition.name === "created_at" ? "created_at" : "updated_at", condition)],
          isExact: true
        }
    }
    if (systemFields.has(condition.name)) return ofSystemField(condition)
    switch (condition.operator) {
      case "contains":
        return ofType(condition.name, strings)
      case "has":
        return ofType(condition.name, arraysAndObjects)
      default:
        return byKey(condition.name, condition)
    }
  }

  /** What the rows that match a filter have in common beside its equal fields, and whether that decides. */
  return ({ conditions, words }: Filter): Candidates => {
    const each = conditions.map(candidatesOf)
    return {
      conditions: each.flatMap(({ conditions }) => conditions),
      isExact: words.length === 0 && each.every(({ isExact }) => isExact)
    }
  }
}
