/** Formats numbers of things for sentences. */

const NUMBER = new Intl.NumberFormat('en-GB')

export function formatCount(count: number): string {
  return NUMBER.format(count)
}

/** 1 replica, 2 replicas. */
export function formatQuantity(count: number, one: string): string {
  return `${formatCount(count)} ${count === 1 ? one : `${one}s`}`
}
