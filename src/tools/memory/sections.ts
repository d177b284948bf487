/** The line index after the section's last line of text; undefined where no such heading stands. */
export function sectionEnd(lines: readonly string[], heading: string): number | undefined {
  const wanted = heading.trim().toLowerCase();
  const headings = headingsOf(lines);
  const start = headings.find(({ title }) => title.toLowerCase() === wanted);
  if (start === undefined) return undefined;
  const next = headings.find(({ line, level }) => line > start.line && level <= start.level);
  let end = next?.line ?? lines.length;
  if (next === undefined) return end;
  while (end > start.line + 1 && lines[end - 1]?.trim() === "") end -= 1;
  return end;
}

function headingsOf(lines: readonly string[]): { line: number; level: number; title: string }[] {
  const found: { line: number; level: number; title: string }[] = [];
  let isCode = false;
  for (const [line, text] of lines.entries()) {
    if (/^ {0,3}(?:```|~~~)/.test(text)) isCode = !isCode;
    const [, marks, title] = (isCode ? null : /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(text)) ?? [];
    if (marks !== undefined && title !== undefined) found.push({ line, level: marks.length, title });
  }
  return found;
}
