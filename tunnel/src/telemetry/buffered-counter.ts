/** A Prometheus counter that is told when somebody looks: at every call the library sorts, checks and joins the labels anew. */

import { Counter, type CounterConfiguration } from 'prom-client'

export type Tally = {
  /** The values of its labels are in the order of their names. */
  add(many: number, ...values: string[]): void
}

type Branch = { many: number; branches: Map<string, Branch> }

/** Bounded as the counter is: by the closed sets that its labels' values come from. */
export function createTally(config: CounterConfiguration<string>): Tally {
  let root = newBranch()
  new Counter({ ...config, collect })
  return { add }

  function add(many: number, ...values: string[]): void {
    let branch = root
    for (const value of values) branch = grow(branch, value)
    branch.many += many
  }

  function collect(this: Counter): void {
    tell(this, root, [])
    root = newBranch()
  }
}

function newBranch(): Branch {
  return { many: 0, branches: new Map() }
}

function grow({ branches }: Branch, value: string): Branch {
  const known = branches.get(value)
  if (known) return known
  const branch = newBranch()
  branches.set(value, branch)
  return branch
}

/** Counts are at the ends. */
function tell(counter: Counter, { many, branches }: Branch, values: string[]): void {
  if (branches.size === 0 && values.length > 0) counter.labels(...values).inc(many)
  for (const [value, branch] of branches) tell(counter, branch, [...values, value])
}
