import { PageHead } from '../components/page-head.tsx'

export const Groups = () => <PageHead title="Groups" />
