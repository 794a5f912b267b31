// Vite's development server: routes /monitoring to a tunnel on this machine. Copy the entry of server.proxy. docs/proxies.md lists what a proxy has to do.

import { defineConfig } from 'vite'

export default defineConfig({
  server: {
    proxy: {
      '^/monitoring([/?]|$)': {
        target: 'http://127.0.0.1:9090',
        configure(proxy) {
          proxy.on('proxyReq', (toTunnel, { socket }) => {
            toTunnel.setHeader('X-Forwarded-For', socket.remoteAddress ?? '')
            for (const name of ['Cookie', 'Authorization', 'X-Request-Id', 'X-Culvert-Retry'])
              toTunnel.removeHeader(name)
          })
        },
      },
    },
  },
})
