const VIRTUAL = "\0no-body-reader";

/**
 * The transport for legacy SSE reads the body of a request by itself where it isn't given one, and for that brings
 * every text encoding there is: 500 KB in each bundle. Ours is always given the body (src/transport/http.ts reads it).
 */
export function noBodyReader() {
  return {
    name: "no-body-reader",
    resolveId: { filter: { id: /^raw-body$/ }, handler: () => VIRTUAL },
    load: {
      filter: { id: /^\0no-body-reader$/ },
      handler: () =>
        'export default () => Promise.reject(new Error("Send the message as the body of a POST."));',
    },
  };
}
