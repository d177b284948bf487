import type { Call, Middleware, Next, ToolResult } from "./call.ts";
import { redact } from "./redact.ts";

/** Which call an approval is about. */
export interface Whose {
  toolName: string;
  callId: string;
  agentId: string;
  sessionId: string;
}

/** What happens to calls, for library listeners and the audit log. */
export type CamelEvent =
  | { type: "tool_call"; id: string; name: string; args: unknown }
  | { type: "tool_result"; id: string; name: string; preview: string; isError: boolean }
  | ({ type: "approval_request"; id: string; preview: string } & Whose)
  /** `decision`: allow-once, allow-session, allow-always, deny or cancelled. `by`: where it was made. */
  | ({ type: "approval_resolved"; id: string; decision: string; by: string } & Whose);

export type CamelEventType = CamelEvent["type"];
export type CamelListener<T extends CamelEventType> = (event: Extract<CamelEvent, { type: T }>) => void;

export interface Events {
  emit(event: CamelEvent): void;
  /** Whether anybody listens: preparing an event costs more than telling of it. */
  has(type: CamelEventType): boolean;
  /** Returns how to stop listening. */
  on<T extends CamelEventType>(type: T, listener: CamelListener<T>): () => void;
}

export function createEvents(onListenerError: (error: unknown) => void): Events {
  const listeners = new Map<string, Set<(event: CamelEvent) => void>>();
  return {
    emit(event) {
      for (const listener of listeners.get(event.type) ?? []) {
        try {
          listener(event);
        } catch (error) {
          // A listener only watches; it can't break a call.
          onListenerError(error);
        }
      }
    },
    has: (type) => (listeners.get(type)?.size ?? 0) > 0,
    on(type, listener) {
      const own = listeners.get(type) ?? new Set();
      listeners.set(type, own);
      own.add(listener as (event: CamelEvent) => void);
      return () => void own.delete(listener as (event: CamelEvent) => void);
    },
  };
}

const PREVIEW = 150;

export function emitEvents(events: Events): Middleware<Call> {
  return function emitEvents(call, next) {
    return events.has("tool_call") || events.has("tool_result") ? tell(call, next) : next();
  };

  async function tell(call: Call, next: Next): Promise<ToolResult> {
    if (events.has("tool_call"))
      events.emit({ type: "tool_call", id: call.id, name: call.name, args: redact(call.args) });
    const result = await next();
    events.emit({
      type: "tool_result",
      id: call.id,
      name: call.name,
      preview: result.text.slice(0, PREVIEW),
      isError: result.isError === true,
    });
    return result;
  }
}
