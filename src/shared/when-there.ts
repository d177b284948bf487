/** Usually there already; else on its way. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on at once with what is there already: an await takes longer than most of what a call waits for. */
export function whenThere<T, R>(value: MaybePromise<T>, go: (value: T) => Promise<R>): Promise<R>;
export function whenThere<T, R>(value: MaybePromise<T>, go: (value: T) => MaybePromise<R>): MaybePromise<R>;
export function whenThere<T, R>(value: MaybePromise<T>, go: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(go) : go(value);
}
