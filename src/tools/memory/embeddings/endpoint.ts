import { z } from "zod";
import type { Config } from "../../../config/schema.ts";

export type EmbeddingSettings = NonNullable<Config["memory"]["embeddings"]>;

/** Texts in, unit vectors out; throws whatever is wrong with the endpoint. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<Int8Array[]>;

const answerSchema = z.object({
  data: z.array(z.object({ index: z.number().int().min(0), embedding: z.array(z.number()).min(1) })),
});

/** Any endpoint that answers `POST /embeddings` as OpenAI's does. */
export function createEmbed(settings: EmbeddingSettings, apiKey: string | undefined): Embed {
  return async (texts, signal) => {
    const response = await fetch(`${settings.baseUrl.replace(/\/+$/, "")}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        model: settings.model,
        input: texts,
        encoding_format: "float",
        ...(settings.dimensions === undefined ? {} : { dimensions: settings.dimensions }),
      }),
      // The key must not follow a redirect to another host.
      redirect: "error",
      signal,
    });
    if (!response.ok) throw new Error(`the endpoint answered ${response.status}`);
    const { data } = answerSchema.parse(await response.json());
    if (new Set(data.map(({ embedding }) => embedding.length)).size > 1)
      throw new Error("the endpoint answered with vectors of different lengths");
    const vectors = new Map(data.map(({ index, embedding }) => [index, quantised(embedding)]));
    return texts.map((_text, index) => {
      const vector = vectors.get(index);
      if (vector === undefined) throw new Error(`the endpoint left out text ${index} of ${texts.length}`);
      return vector;
    });
  };
}

/** Length 1, then one byte a dimension: a quarter of the memory, and the order of neighbours hardly changes. */
function quantised(embedding: readonly number[]): Int8Array {
  const length = Math.hypot(...embedding) || 1;
  return Int8Array.from(embedding, (value) => Math.round((value / length) * 127));
}
