/** The package's version; `npm run check` fails if it differs from package.json. */
export const VERSION = "0.1.0";
