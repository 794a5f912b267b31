/** Own properties of `window` for what the SDK reads: without them, an element with such an ID answers. */

for (const name of ['SENTRY_RELEASE', '__SENTRY__', '_sentryDebugIds', '_debugIds', '_sentryModuleMetadata'])
  if (!Reflect.getOwnPropertyDescriptor(window, name))
    Reflect.defineProperty(window, name, { value: undefined, writable: true, configurable: true })
