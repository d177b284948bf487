import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../shared/clock.ts";

/** What outlasts a request: a session of the older revisions, or a stream of changes of 2026-07-28. */
export interface Session {
  /** Whose it is: nobody else's requests reach it. */
  owner: string;
  toolsChanged(): void;
  close(): Promise<void>;
  /** Absent where it takes no requests. */
  handle?(req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void>;
}

export interface Sessions {
  /** `stream`: it is in use for as long as this one is open. */
  add(id: string, session: Session, stream?: ServerResponse): void;
  /** Undefined also where it is somebody else's: nothing is told about it. */
  use(id: string, owner: string, res: ServerResponse): Session | undefined;
  has(id: string): boolean;
  /** Forgets one that was closed. */
  forget(id: string): void;
  toolsChanged(): void;
  close(): Promise<void>;
}

const SWEEP_MS = 1_000;

/**
 * Sessions that nobody ends are ended here: after their idle time, when their token is revoked, or for others when
 * there are too many.
 */
export function createSessions({
  clock,
  settings,
  isWelcome,
}: {
  clock: Clock;
  settings: () => Pick<Config["http"], "idleSeconds" | "maxSessions">;
  /** Whether this owner's token is still good. */
  isWelcome: (owner: string) => Promise<boolean>;
}): Sessions {
  // In the order of their last use, which is the order a Map keeps: the longest unused comes first.
  const sessions = new Map<string, { session: Session; open: number; lastUsed: number }>();
  const drop = async (id: string): Promise<void> => {
    const found = sessions.get(id);
    sessions.delete(id);
    await found?.session.close().catch(() => {});
  };
  const evictIdle = (): void => {
    const oldest = clock.monotonic() - settings().idleSeconds * 1000;
    for (const [id, { open, lastUsed }] of sessions) if (open === 0 && lastUsed < oldest) void drop(id);
  };
  const evictUnwelcome = async (): Promise<void> => {
    for (const owner of new Set([...sessions.values()].map(({ session }) => session.owner)))
      if (!(await isWelcome(owner)))
        for (const [id, { session }] of sessions) if (session.owner === owner) void drop(id);
  };
  const sweep = (): { cancel(): void } =>
    clock.setTimeout(() => {
      evictIdle();
      // A damaged token file lets nobody in; who is in stays until it can be read.
      void evictUnwelcome().catch(() => {});
      sweeping = sweep();
    }, SWEEP_MS);
  let sweeping = sweep();

  /** Of who has the most, so that one client can't push out all others: one nobody waits at, the longest unused. */
  const victim = (): string | undefined => {
    const counts = new Map<string, number>();
    for (const { session } of sessions.values())
      counts.set(session.owner, (counts.get(session.owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const theirs = [...sessions].filter(([, { session }]) => counts.get(session.owner) === most);
    return (theirs.find(([, { open }]) => open === 0) ?? theirs[0])?.[0];
  };
  const hold = (id: string, stream: ServerResponse): void => {
    const held = sessions.get(id);
    if (held === undefined) return;
    held.open += 1;
    stream.once("close", () => {
      held.open -= 1;
      held.lastUsed = clock.monotonic();
    });
  };

  return {
    add(id, session, stream) {
      evictIdle();
      while (sessions.size >= settings().maxSessions) void drop(victim() ?? id);
      sessions.set(id, { session, open: 0, lastUsed: clock.monotonic() });
      if (stream !== undefined) hold(id, stream);
    },
    use(id, owner, res) {
      const found = sessions.get(id);
      if (found === undefined || found.session.owner !== owner) return undefined;
      found.lastUsed = clock.monotonic();
      sessions.delete(id);
      sessions.set(id, found);
      hold(id, res);
      return found.session;
    },
    has: (id) => sessions.has(id),
    forget: (id) => void sessions.delete(id),
    toolsChanged() {
      for (const { session } of sessions.values()) session.toolsChanged();
    },
    async close() {
      sweeping.cancel();
      await Promise.all([...sessions.keys()].map(drop));
    },
  };
}
