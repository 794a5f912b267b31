/** Names of what the SDK stores in the browser, and its removal. */

/** Returns the name of the database of a project, with which the keys in `localStorage` begin. `query` is that of its tunnel URL. */
export function storeName(query: string): string {
  return `culvert-offline${query}`
}

/** Returns the keys of a project in `localStorage`. Throws where storage is blocked. */
export function localKeys(name: string): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(`${name} `))
}

/** Removes all that is stored for a project. Resolves when it is gone, or when the browser refuses. */
export function clearStored(name: string): Promise<void> {
  try {
    for (const key of localKeys(name)) localStorage.removeItem(key)
  } catch {} // storage is blocked
  return clearDatabase(name)
}

/** Deletes a database, whose connections close themselves. Resolves also when the browser refuses. */
export function clearDatabase(name: string): Promise<void> {
  return new Promise((resolve) => {
    try {
      const request = indexedDB.deleteDatabase(name)
      request.onsuccess = request.onerror = request.onblocked = () => resolve()
    } catch {
      resolve()
    }
  })
}
