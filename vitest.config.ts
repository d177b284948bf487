import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    exclude: ["tests/bench/**"],
    // Vitest's own choice is one core fewer than there are, so on two cores everything would run one after the other.
    // Most tests wait for processes they started: a few more than there are cores keeps the cores busy.
    maxWorkers: availableParallelism() + 2,
    // Only to end what hangs. No test is about how long something takes.
    testTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    globalSetup: ["tests/global-setup.ts"],
    setupFiles: ["tests/setup.ts"],
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "json-summary"] },
  },
});
