export function measure(folder: string): Promise<{
  questions: number;
  recall: number;
  reciprocalRank: number;
  characters: number;
  missed: string[];
}>;
