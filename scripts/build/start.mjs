/** What must not be read at every start, and why a change could bring it back. */
const REFUSED = [
  [/[\\/]src[\\/]config[\\/]schema\.ts$/, "the config schema; without a config file nobody needs it"],
  [/[\\/]node_modules[\\/]@modelcontextprotocol[\\/]/, "the SDK; see src/transport/stdio-opening.ts"],
];

/** One static import too many would undo the lazy ones unnoticed: it works, only slower. So the build fails. */
export function lightStart() {
  return {
    name: "light-start",
    generateBundle(_options, bundle) {
      const startUp = new Set(Object.values(bundle).filter((chunk) => chunk.isEntry));
      for (const chunk of startUp) {
        for (const name of chunk.imports) if (bundle[name] !== undefined) startUp.add(bundle[name]);
        for (const [pattern, what] of REFUSED) {
          const id = chunk.moduleIds.find((one) => pattern.test(one));
          if (id !== undefined)
            this.error(`${chunk.fileName} is loaded at every start and contains ${id}: ${what}`);
        }
      }
    },
  };
}
