/** Labels of the outcomes whose codes are not readable words. */

const LABELS = new Map([
  ['limited', 'rate-limited'],
  ['refused', 'rejected'],
])

/** Returns the label that the interface shows for an outcome. */
export function outcomeLabel(outcome: string): string {
  return LABELS.get(outcome) ?? outcome
}
