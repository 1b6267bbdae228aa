// What the review of one part of a folder comes to.
import { z } from 'zod';

/** A place in a file, and what is to be said of it. */
const place = z.object({
  path: z.string().describe('as `list_files` shows it; empty where it is about no file'),
  line: z.int().min(0).describe('0 where it is about the whole file'),
  text: z.string(),
});

/** What a reviewer hands in: counts of all that is left for later, and the first places of it. */
export const partReview = z.object({
  summary: z.string().describe('one sentence'),
  leftForLater: z.object({
    lines: z.int().min(0),
    files: z.int().min(0),
    byWord: z.array(z.object({ word: z.string(), count: z.int().min(0) })),
    places: z.array(place).max(20),
  }),
  findings: z.array(place).max(50).describe('the gravest first'),
});

export type PartReview = z.output<typeof partReview>;

/** Reviews of all parts as one. */
export interface MergedReview {
  readonly leftForLater: PartReview['leftForLater'];
  readonly findings: PartReview['findings'];
  /** Parts of which there is no review, with why. */
  readonly missing: readonly string[];
}

/** Adds up what the reviewers counted; their places stay in the order of the parts. */
export function mergeReviews(reviews: readonly PartReview[], missing: readonly string[]): MergedReview {
  const byWord = new Map<string, number>();
  for (const { word, count } of reviews.flatMap(({ leftForLater }) => leftForLater.byWord)) {
    byWord.set(word, (byWord.get(word) ?? 0) + count);
  }
  const sum = (field: 'lines' | 'files') =>
    reviews.reduce((total, { leftForLater }) => total + leftForLater[field], 0);
  return {
    leftForLater: {
      lines: sum('lines'),
      files: sum('files'),
      byWord: [...byWord].map(([word, count]) => ({ word, count })),
      places: reviews.flatMap(({ leftForLater }) => leftForLater.places),
    },
    findings: reviews.flatMap(({ findings }) => findings),
    missing,
  };
}
