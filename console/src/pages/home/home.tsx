import { PageHead } from "../../parts/page.tsx";

export default function Home() {
  return <PageHead title="Home" />;
}
