// Preloaded into what server.mjs starts: tells the processor time and memory it took, on descriptor 3.
process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  // Not maxRSS: on Linux a child inherits the peak of the process that started it.
  const usage = { cpu: (userCPUTime + systemCPUTime) / 1000, rss: process.memoryUsage().rss / 2 ** 20 };
  require("node:fs").writeSync(3, JSON.stringify(usage));
});
