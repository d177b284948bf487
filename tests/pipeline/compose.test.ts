import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call, Middleware } from "../../src/pipeline/call.ts";
import { compose } from "../../src/pipeline/compose.ts";
import { callOf } from "../harness.ts";

const aCall: Call = callOf("t", {});

describe("compose", () => {
  test("runs outermost first, unwinds in reverse, and the terminal once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 12 }), async (depth) => {
        const order: string[] = [];
        const layers = Array.from({ length: depth }, (_, index): Middleware<Call> => async (_call, next) => {
          order.push(`in ${index}`);
          const result = await next();
          order.push(`out ${index}`);
          return result;
        });
        await compose(layers, async () => {
          order.push("tool");
          return { text: "" };
        })(aCall);
        const range = [...Array(depth).keys()];
        expect(order).toEqual([
          ...range.map((i) => `in ${i}`),
          "tool",
          ...range.reverse().map((i) => `out ${i}`),
        ]);
      }),
    );
  });

  test("next() twice is an error and doesn't run the tool twice", async () => {
    let runs = 0;
    const twice: Middleware<Call> = async function twice(_call, next) {
      await next();
      return next();
    };
    const run = compose([twice], async () => {
      runs += 1;
      return { text: "" };
    });
    await expect(run(aCall)).rejects.toThrow("next() called twice by twice");
    expect(runs).toBe(1);
  });

  test("next() while the first is still running is an error; after a failure it is a new attempt", async () => {
    let runs = 0;
    const tool = async (): Promise<{ text: string }> => {
      runs += 1;
      await Promise.resolve();
      if (runs < 3) throw new Error("not yet");
      return { text: "third time" };
    };
    const both: Middleware<Call> = async (_call, next) => {
      const [, second] = await Promise.allSettled([next(), next()]);
      throw second.status === "rejected" ? second.reason : new Error("ran twice");
    };
    await expect(compose([both], tool)(aCall)).rejects.toThrow("next() called twice");
    const patient: Middleware<Call> = async (_call, next) => {
      try {
        return await next();
      } catch {
        return next();
      }
    };
    expect(await compose([patient], tool)(aCall)).toEqual({ text: "third time" });
  });

  test("a middleware that doesn't call next keeps the tool from running", async () => {
    const run = compose<Call>([async () => ({ text: "stopped" })], () => Promise.reject(new Error("ran")));
    expect(await run(aCall)).toEqual({ text: "stopped" });
  });

  test("a synchronous throw rejects", async () => {
    const run = compose<Call>(
      [
        () => {
          throw new Error("early");
        },
      ],
      async () => ({ text: "" }),
    );
    await expect(run(aCall)).rejects.toThrow("early");
  });
});
