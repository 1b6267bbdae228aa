const KEY = 'swarmwright-theme';
const THEMES = ['system', 'light', 'dark'] as const;

/** Puts the theme on that was chosen before; without a choice the page follows the system. */
export function applyTheme(): void {
  const chosen = localStorage.getItem(KEY);
  document.documentElement.dataset['theme'] = THEMES.find((theme) => theme === chosen) ?? 'system';
}

/** The next theme: system, light, dark. */
export function nextTheme(): void {
  const themes: readonly string[] = THEMES;
  const at = themes.indexOf(document.documentElement.dataset['theme'] ?? 'system');
  localStorage.setItem(KEY, themes[(at + 1) % themes.length] ?? 'system');
  applyTheme();
}
