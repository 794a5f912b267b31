/** Sets the SDK of this page up for the lab: all that it can send is on, and says that it is of the lab. */

import { addIntegration, consoleLoggingIntegration, getClient } from '@sentry/nextjs'
import { useEffect } from 'react'

export function useLabClient(): void {
  useEffect(() => {
    const options = getClient()?.getOptions()
    if (!options) return
    options.environment = 'lab'
    delete options.beforeSendLog
    delete options.beforeSendMetric
    addIntegration(consoleLoggingIntegration({ levels: ['info'] }))
  }, [])
}
