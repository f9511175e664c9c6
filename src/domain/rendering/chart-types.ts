export const chartTypes = ['bar', 'column', 'line', 'area', 'pie', 'doughnut', 'stacked-column'] as const;

export type ChartType = (typeof chartTypes)[number];
