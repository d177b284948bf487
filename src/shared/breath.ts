/** Many short pieces of work in a row would hold up everybody else in this process. */
const LONGEST_MS = 8;

/** To be awaited between pieces: now and then it lets the event loop turn, for all who wait for it together. */
export function createBreath(): () => Promise<void> | undefined {
  let since = performance.now();
  let turn: Promise<void> | undefined;
  return () => {
    if (turn !== undefined) return turn;
    if (performance.now() - since < LONGEST_MS) return undefined;
    turn = new Promise((resolve) => {
      setImmediate(() => {
        turn = undefined;
        since = performance.now();
        resolve();
      });
    });
    return turn;
  };
}
