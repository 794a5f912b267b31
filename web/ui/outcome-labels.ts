/** Labels of the outcomes whose codes are not readable words. */

const LABELS = new Map([['rate_limited', 'rate-limited']])

/** Returns the label that the interface shows for an outcome. */
export function outcomeLabel(outcome: string): string {
  return LABELS.get(outcome) ?? outcome
}
