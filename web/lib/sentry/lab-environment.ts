/** What tells reports of the error lab from real ones, in the browser and on the server. */

export const LAB_ENVIRONMENT = 'lab'

/** Whether what breaks at this path breaks in the lab. */
export function isOfLab(path: string): boolean {
  return /^\/lab(\/|$)/.test(path)
}
