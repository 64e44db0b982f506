/** The theme of VitePress with the fonts of the reader's system. */
import DefaultTheme from "vitepress/theme-without-fonts";
// After the theme, whose values it replaces.
import "./style.css";

export default DefaultTheme;
