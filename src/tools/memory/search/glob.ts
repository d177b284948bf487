/** A glob on forward-slash paths as a regular expression: `**`, `*`, `?`, `[...]`, `{a,b}`. No match leaves its folder with `*`. */
export function globToRegExp(glob: string): RegExp {
  let source = "";
  let depth = 0;
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at] ?? "";
    if (character === "*" && glob[at + 1] === "*") {
      const isFolders = glob[at + 2] === "/";
      source += isFolders ? "(?:[^/]+/)*" : ".*";
      at += isFolders ? 2 : 1;
    } else if (character === "*") source += "[^/]*";
    else if (character === "?") source += "[^/]";
    else if (character === "[" && glob.indexOf("]", at + 2) > 0) {
      const end = glob.indexOf("]", at + 2);
      source += `[${glob
        .slice(at + 1, end)
        .replace(/^!/, "^")
        .replaceAll("\\", "\\\\")
        .replaceAll("[", "\\[")}]`;
      at = end;
    } else if (character === "{" && glob.includes("}", at)) {
      source += "(?:";
      depth += 1;
    } else if (character === "}" && depth > 0) {
      source += ")";
      depth -= 1;
    } else if (character === "," && depth > 0) source += "|";
    else source += character.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  }
  return new RegExp(`^${source}$`, "iu");
}
