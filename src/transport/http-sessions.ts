import type { Server } from "@modelcontextprotocol/server";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config.ts";
import type { Clock } from "../shared/clock.ts";

/** A connection of the older revisions, which lasts for many requests. */
export interface Session {
  server: Server;
  /** Whose it is: nobody else's requests reach it. */
  owner: string;
  handle(req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void>;
}

export interface Sessions {
  add(id: string, session: Session): void;
  /** Undefined also where it is somebody else's: nothing is told about it. */
  use(id: string, owner: string): Session | undefined;
  has(id: string): boolean;
  /** Forgets one whose server was closed. */
  forget(id: string): void;
  all(): Iterable<Session>;
  close(): void;
}

const SWEEP_MS = 30_000;

/** Sessions that nobody ends are ended here: after their idle time, or for others when there are too many. */
export function createSessions({
  clock,
  settings,
}: {
  clock: Clock;
  settings: () => Pick<Config["http"], "idleSeconds" | "maxSessions">;
}): Sessions {
  // In the order of their last use, which is the order a Map keeps: the longest unused comes first.
  const sessions = new Map<string, Session & { lastUsed: number }>();
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.server.close().catch(() => {});
  };
  const evictIdle = (): void => {
    const oldest = clock.monotonic() - settings().idleSeconds * 1000;
    for (const [id, session] of sessions) if (session.lastUsed < oldest) drop(id);
  };
  const sweep = (): { cancel(): void } =>
    clock.setTimeout(() => {
      evictIdle();
      sweeping = sweep();
    }, SWEEP_MS);
  let sweeping = sweep();

  return {
    add(id, session) {
      evictIdle();
      // Full: the longest unused goes, so that forgotten sessions can't lock everybody out.
      for (const [victim] of sessions) {
        if (sessions.size < settings().maxSessions) break;
        drop(victim);
      }
      sessions.set(id, { ...session, lastUsed: clock.monotonic() });
    },
    use(id, owner) {
      const session = sessions.get(id);
      if (session === undefined || session.owner !== owner) return undefined;
      session.lastUsed = clock.monotonic();
      sessions.delete(id);
      sessions.set(id, session);
      return session;
    },
    has: (id) => sessions.has(id),
    forget: (id) => void sessions.delete(id),
    all: () => sessions.values(),
    close() {
      sweeping.cancel();
      for (const id of sessions.keys()) drop(id);
    },
  };
}
