/** What the service says of a delete whose filter stands neither in its body nor in the query string, or in both. */
export const missingFilter = { path: "/filter", message: "must be given once" }
