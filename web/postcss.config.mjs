/** PostCSS configuration: Tailwind generates the classes that are used. */

export default { plugins: { '@tailwindcss/postcss': {} } }
