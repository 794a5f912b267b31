/** How the stylesheet is made: Tailwind writes the classes that are used, and no other. */

export default { plugins: { '@tailwindcss/postcss': {} } }
