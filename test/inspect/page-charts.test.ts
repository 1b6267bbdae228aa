import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { allMachines } from '../../machines/index.ts';
import { chartsText, layoutCharts } from '../../scripts/layout-charts.ts';

it('IN-11 lays out the machines as they are: npx node scripts/layout-charts.ts writes it anew', () => {
  expect(readFileSync('src/page/charts.json', 'utf8')).toBe(chartsText());
});

it('IN-04 has a place on the chart for every state, and for every way between two', () => {
  for (const layout of layoutCharts()) {
    const machine = Object.values(allMachines).find(({ id }) => id === layout.id);
    expect(layout.states.map(({ name }) => name)).toEqual(Object.keys(machine?.states ?? {}));
    for (const { x, y, width, height } of layout.states) {
      expect(x >= 0 && y >= 0 && x + width <= layout.width && y + height <= layout.height).toBe(true);
    }
    for (const { from, to, points } of layout.moves) {
      expect(points.length).toBeGreaterThanOrEqual(from === to ? 0 : 2);
    }
  }
});
