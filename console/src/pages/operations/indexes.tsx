import { Tenants } from "./tenants.tsx";

export default function Indexes() {
  return <Tenants kind="indexes" />;
}
